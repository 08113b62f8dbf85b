package simd

var scoresNEON = Scores{
	Tops: topsNEON, Weights: weightsNEON, FirstTops: firstTopsNEON, ScoreGrad: scoreGradNEON, Deltas: deltasNEON, WeightGrad: weightGradNEON,
	DotStrips: dotStripsNEON, AddStrip: addStripNEON, MultiplyStrip: multiplyStripNEON, ScaleStrip: scaleStripNEON,
}
