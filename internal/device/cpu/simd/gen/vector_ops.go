package main

// opcode names what an instruction does.
type opcode int

const (
	opParameter opcode = iota // to = the parameter
	opArgument                // all lanes = the parameter, or its element imm
	opResult
	opCopy
	opAdvance
	opSkip
	opHold // the imm constants used most, in registers from here on
	opVariable
	opSet

	opLoop    // while to >= imm: the instructions as far as opEndLoop
	opEndLoop // moves the pointers on by imm floats, to by -imm
	opLast    // when to > 0: as far as opEndLast, masked to that many lanes
	opEndLast
	opTimes // to times: as far as opEndTimes
	opEndTimes

	opLoad
	opStore
	opLoadOne
	opStoreOne
	opActive

	opAdd
	opSub
	opMul
	opDiv
	opMin
	opMax
	opAnd
	opFMA
	opFMS
	opFNMA
	opSqrt
	opScale2
	opLess
	opLessEqual
	opNotLess
	opChoose
	opWhere
	opSum
	opLargest

	opWideLow
	opWideHigh
	opAddWide
	opFMAWide
	opSumWide
	opResultWide

	opPattern
	opAddInt
	opMulEven
	opHighWord
	opXor3
	opAtLeast
	opPairs
	opLowPairs
	opHighPairs
)

func (k *kernel) unary(op opcode, a value) value {
	return k.emit(instruction{op: op, args: []value{a}})
}

func (k *kernel) binary(op opcode, a, b value) value {
	return k.emit(instruction{op: op, args: []value{a, b}})
}

func (k *kernel) ternary(op opcode, a, b, c value) value {
	return k.emit(instruction{op: op, args: []value{a, b, c}})
}

func (k *kernel) add(a, b value) value { return k.binary(opAdd, a, b) }
func (k *kernel) sub(a, b value) value { return k.binary(opSub, a, b) }
func (k *kernel) mul(a, b value) value { return k.binary(opMul, a, b) }
func (k *kernel) div(a, b value) value { return k.binary(opDiv, a, b) }

// min and max are b where one of them is NaN.
func (k *kernel) min(a, b value) value { return k.binary(opMin, a, b) }
func (k *kernel) max(a, b value) value { return k.binary(opMax, a, b) }

// fma is a*b + c, fms is a*b - c, fnma is c - a*b, rounded once.
func (k *kernel) fma(a, b, c value) value  { return k.ternary(opFMA, a, b, c) }
func (k *kernel) fms(a, b, c value) value  { return k.ternary(opFMS, a, b, c) }
func (k *kernel) fnma(a, b, c value) value { return k.ternary(opFNMA, a, b, c) }

func (k *kernel) sqrt(a value) value { return k.unary(opSqrt, a) }

// scale2 is a * 2^n for a whole n from -125 to 128 and a result that is not subnormal; NaN where a is.
func (k *kernel) scale2(a, n value) value { return k.binary(opScale2, a, n) }

// abs clears the bit of the sign.
func (k *kernel) abs(a value) value { return k.binary(opAnd, a, k.bits(1<<31-1)) }

// less is a < b, lessEqual a <= b, notLess a >= b or one of them NaN.
func (k *kernel) less(a, b value) mask      { return mask(k.binary(opLess, a, b)) }
func (k *kernel) lessEqual(a, b value) mask { return mask(k.binary(opLessEqual, a, b)) }
func (k *kernel) notLess(a, b value) mask   { return mask(k.binary(opNotLess, a, b)) }

// where is a where m says yes, else 0.
func (k *kernel) where(m mask, a value) value {
	return k.emit(instruction{op: opWhere, mask: m, args: []value{a}})
}

// choose is a where m says yes, else b.
func (k *kernel) choose(m mask, a, b value) value {
	return k.emit(instruction{op: opChoose, mask: m, args: []value{a, b}})
}

// sum and largest join the lanes of a; all lanes hold the result.
func (k *kernel) sum(a value) value     { return k.unary(opSum, a) }
func (k *kernel) largest(a value) value { return k.unary(opLargest, a) }

// wide gives the lanes of a as two vectors of float64, of half as many lanes.
func (k *kernel) wide(a value) (low, high value) {
	return k.unary(opWideLow, a), k.unary(opWideHigh, a)
}

// addWide, fmaWide and sumWide are add, fma and sum in float64, resultWide is result.
func (k *kernel) addWide(a, b value) value    { return k.binary(opAddWide, a, b) }
func (k *kernel) fmaWide(a, b, c value) value { return k.ternary(opFMAWide, a, b, c) }
func (k *kernel) sumWide(a value) value       { return k.unary(opSumWide, a) }
func (k *kernel) resultWide(name string, v value) {
	k.act(instruction{op: opResultWide, name: name, args: []value{v}})
}

// What follows takes lanes as uint32; the even ones, counted from 0, are the low halves of 64-bit lanes.

// argumentAt reads element i of a parameter that is an array into all lanes.
func (k *kernel) argumentAt(name string, i int) value {
	return k.emit(instruction{op: opArgument, name: name, imm: i})
}

// pattern is the vector of the given lanes.
func (k *kernel) pattern(lanes []uint32) value {
	return k.emit(instruction{op: opPattern, lanes: lanes})
}

// addInt is a + b modulo 2^32, xor3 is a ^ b ^ c.
func (k *kernel) addInt(a, b value) value  { return k.binary(opAddInt, a, b) }
func (k *kernel) xor3(a, b, c value) value { return k.ternary(opXor3, a, b, c) }

// mulEven is the 64-bit product of the even lanes of a and b. highWord moves the high half of each 64-bit lane to
// its low half; the high half of the result does not count.
func (k *kernel) mulEven(a, b value) value { return k.binary(opMulEven, a, b) }
func (k *kernel) highWord(a value) value   { return k.unary(opHighWord, a) }

// atLeast is a >= b.
func (k *kernel) atLeast(a, b value) mask { return mask(k.binary(opAtLeast, a, b)) }

// pairs is the even lanes of a, each followed by that of b.
func (k *kernel) pairs(a, b value) value { return k.binary(opPairs, a, b) }

// lowPairs is the low half of each 128 bits of a, followed by that of b; highPairs is the high halves.
func (k *kernel) lowPairs(a, b value) value  { return k.binary(opLowPairs, a, b) }
func (k *kernel) highPairs(a, b value) value { return k.binary(opHighPairs, a, b) }
