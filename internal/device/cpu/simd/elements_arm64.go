package simd

var elementsNEON = Elements{
	ReLU:      Activation{reluNEON, reluGradNEON},
	GELUTanh:  Activation{geluTanhNEON, geluTanhGradNEON},
	GELUExact: Activation{geluExactNEON, geluExactGradNEON},

	Max: largestNEON, Exp: expRowNEON, ExpSum: expSumNEON, Scale: scaleNEON, Subtract: subtractNEON,
	SoftmaxGrad: softmaxGradNEON, LogSoftmaxGrad: logSoftmaxGradNEON,
	Keep: keepNEON, Drop: dropNEON, DropAdd: dropAddNEON,

	Add: addNEON, SumSquares: sumSquaresNEON, adamW: adamWNEON,
	sumRows: sumRowsNEON, norm: normRowsNEON, normGrad: normGradRowsNEON, normGradAdd: normGradAddRowsNEON,
}
