package main

// exp writes e^x with an error of less than a unit in the last place. +Inf beyond 88.72; 0 below -86.6, before the
// numbers that processors are slow with begin; NaN stays.
func exp(k *kernel, x value) value {
	return expNegative(k, k.min(k.constant(expMost), x))
}

const expMost = 89 // beyond it float32 has no e^x

// expNegative is exp for x of at most 0, or little more.
func expNegative(k *kernel, x value) value { return expOf(k, x, 0) }

// expOf writes e^(x+low) for a low, if any, that is x's rounding error: with x = n*ln2 + r, |r| <= ln2/2, it is 2^n
// times a polynomial in r.
func expOf(k *kernel, x, low value) value {
	const (
		least   = -86.6
		ln2High = 0x1.62e4p-1 // n times it is exact
		ln2Low  = 0x1.7f7d1cf79abcap-20
	)
	whole := k.notLess(x, k.constant(least))
	x = k.max(k.constant(least), x)
	n := timesLn2(k, x)
	r := k.fnma(n, k.constant(ln2Low), k.fnma(n, k.constant(ln2High), x))
	if low != 0 {
		r = k.add(r, low)
	}
	return k.where(whole, k.scale2(k.polynomial(r, expCoefficients...), n))
}

// timesLn2 is the whole number of times that ln2 goes into x, the nearest.
func timesLn2(k *kernel, x value) value {
	const (
		perLn2 = 1.44269504088896341
		magic  = 3 << 22 // the floats beside it are whole numbers: adding it rounds
	)
	return k.sub(k.fma(x, k.constant(perLn2), k.constant(magic)), k.constant(magic))
}

// expCoefficients are those of e^r for |r| <= ln2/2, from r^0: a minimax fit of the relative error, 3e-9, with the
// first two fixed at 1.
var expCoefficients = []float64{1, 1, 0.49999994, 0.16666521, 0.041668266, 0.008368674, 0.0013820634}

// polynomial writes the sum of coefficients[i]*x^i by Horner's rule.
func (k *kernel) polynomial(x value, coefficients ...float64) value {
	last := len(coefficients) - 1
	p := k.constant(coefficients[last])
	for i := last - 1; i >= 0; i-- {
		p = k.fma(p, x, k.constant(coefficients[i]))
	}
	return p
}
