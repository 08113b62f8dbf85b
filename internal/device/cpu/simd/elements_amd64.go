package simd

var elementsAVX512 = Elements{
	ReLU:      Activation{relu512, reluGrad512},
	GELUTanh:  Activation{geluTanh512, geluTanhGrad512},
	GELUExact: Activation{geluExact512, geluExactGrad512},

	Max: largest512, Exp: expRow512, ExpSum: expSum512, Scale: scale512, Subtract: subtract512,
	SoftmaxGrad: softmaxGrad512, LogSoftmaxGrad: logSoftmaxGrad512,
	Keep: keep512, Drop: drop512, DropAdd: dropAdd512,

	Add: add512, SumSquares: sumSquares512, adamW: adamW512,
	sumRows: sumRows512, norm: normRows512, normGrad: normGradRows512, normGradAdd: normGradAddRows512,
}

var elementsAVX2 = Elements{
	ReLU:      Activation{relu256, reluGrad256},
	GELUTanh:  Activation{geluTanh256, geluTanhGrad256},
	GELUExact: Activation{geluExact256, geluExactGrad256},

	Max: largest256, Exp: expRow256, ExpSum: expSum256, Scale: scale256, Subtract: subtract256,
	SoftmaxGrad: softmaxGrad256, LogSoftmaxGrad: logSoftmaxGrad256,
	Keep: keep256, Drop: drop256, DropAdd: dropAdd256,

	Add: add256, SumSquares: sumSquares256, adamW: adamW256,
	sumRows: sumRows256, norm: normRows256, normGrad: normGradRows256, normGradAdd: normGradAddRows256,
}
