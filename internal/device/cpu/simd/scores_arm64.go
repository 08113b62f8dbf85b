package simd

var scoresNEON = Scores{}
