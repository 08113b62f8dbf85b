package layers

import "math"

// Initial says how a parameter starts: at Mean + Deviation*z with z drawn from the standard normal
// distribution. The zero value is all zeros.
type Initial struct{ Mean, Deviation float64 }

// matrix is how a matrix of that many inputs starts. Of an embedding, the inputs are the width: those of the
// output layer that it also is.
func (c Config) matrix(inputs int) Initial {
	if c.Init == InitFanIn {
		return Initial{Deviation: 1 / math.Sqrt(float64(inputs))}
	}
	return Initial{Deviation: 0.02}
}

// residual is how a matrix starts whose result is added to the residual stream, 2*Layers times in all
// (Radford et al. 2019, section 2.3).
func (c Config) residual(inputs int) Initial {
	i := c.matrix(inputs)
	if c.Init != InitFanIn {
		i.Deviation /= math.Sqrt(2 * float64(max(c.Layers, 1)))
	}
	return i
}
