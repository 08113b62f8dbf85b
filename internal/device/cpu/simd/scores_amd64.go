package simd

var scoresAVX512 = Scores{
	Tops: tops512, Weights: weights512, FirstTops: firstTops512, ScoreGrad: scoreGrad512, Deltas: deltas512, WeightGrad: weightGrad512,
	DotStrips: dotStrips512, AddStrip: addStrip512, MultiplyStrip: multiplyStrip512, ScaleStrip: scaleStrip512,
}

var scoresAVX2 = Scores{
	Tops: tops256, Weights: weights256, FirstTops: firstTops256, ScoreGrad: scoreGrad256, Deltas: deltas256, WeightGrad: weightGrad256,
	DotStrips: dotStrips256, AddStrip: addStrip256, MultiplyStrip: multiplyStrip256, ScaleStrip: scaleStrip256,
}
