package simd

var peaksAVX512 = Peaks{
	MultiplyAdds: multiplyAdds512, MultiplyAddsTurn: 768,
	Read: read512, ReadTurn: 128,
	Lanes: 16,
}

var peaksAVX2 = Peaks{
	MultiplyAdds: multiplyAdds256, MultiplyAddsTurn: 384,
	Read: read256, ReadTurn: 128,
	Lanes: 8,
}
