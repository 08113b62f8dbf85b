package simd

var scoresAVX512, scoresAVX2 Scores
