package simd

var peaksNEON = Peaks{
	MultiplyAdds: multiplyAddsNEON, MultiplyAddsTurn: 384,
	Read: readNEON, ReadTurn: 128,
	Lanes: 4,
}
