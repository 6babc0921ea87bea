package terrain

import "math"

// Everything in this file gives the same bits on every machine: plain IEEE operations whose products are rounded by an explicit
// conversion before they are added to anything, so that no compiler may fuse the two.

// mix goes from a to b by t in 0..1.
func mix(a, b, t float64) float64 { return a + float64((b-a)*t) }

// clamp holds x between low and high.
func clamp(x, low, high float64) float64 {
	if x < low {
		return low
	}
	if x > high {
		return high
	}
	return x
}

// smooth rises from 0 to 1 while x goes from low to high; where low is above high it falls.
func smooth(low, high, x float64) float64 {
	t := float64((x - low) / (high - low))
	if t <= 0 {
		return 0
	}
	if t >= 1 {
		return 1
	}
	return float64(float64(t*t) * (3 - float64(2*t)))
}

// floor is the largest whole number that is not above x, |x| < 2^62.
func floor(x float64) int64 {
	i := int64(x)
	if float64(i) > x {
		i--
	}
	return i
}

// sinCos answers the sine and cosine of an angle in radians, |angle| < 1e8, with an error below 1e-9.
func sinCos(angle float64) (sin, cos float64) {
	whole := floor(float64(angle*(2/math.Pi)) + 0.5)
	quarter := float64(whole)
	// pi/2 in two parts keeps the reduced angle exact to about 1e-17 for the angles of any flight.
	const high, low = 1.5707963267341256, 6.077100506506192e-11
	r := (angle - float64(quarter*high)) - float64(quarter*low)
	r2 := float64(r * r)
	s := float64(r2*(-1.0/39916800)) + 1.0/362880
	s = float64(s*r2) - 1.0/5040
	s = float64(s*r2) + 1.0/120
	s = float64(s*r2) - 1.0/6
	s = float64(r * (float64(s*r2) + 1))
	c := float64(r2*(1.0/479001600)) - 1.0/3628800
	c = float64(c*r2) + 1.0/40320
	c = float64(c*r2) - 1.0/720
	c = float64(c*r2) + 1.0/24
	c = float64(c*r2) - 0.5
	c = float64(c*r2) + 1
	switch whole & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// expNegative answers e to the power of -x for x >= 0 with a relative error below 1e-8.
func expNegative(x float64) float64 {
	if x > 40 {
		return 0
	}
	// e^-x = (e^(-x/4096))^4096.
	t := float64(x * (-1.0 / 4096))
	y := float64(t*(1.0/24)) + 1.0/6
	y = float64(y*t) + 0.5
	y = float64(y*t) + 1
	y = float64(y*t) + 1
	for range 12 {
		y = float64(y * y)
	}
	return y
}
