package simd

var elementsAVX512, elementsAVX2 Elements
