package simd

// sets has one set: every arm64 processor that Go runs on has NEON.
func sets() []*Set { return []*Set{neon} }

var neon = &Set{Name: "neon", Products: productsNEON, Elements: elementsNEON, Scores: scoresNEON, Peaks: peaksNEON}
