package terrain

import "math"

// Everything in this file gives the same bits on every machine: plain IEEE operations whose products are rounded by an explicit
// conversion before they are added to anything, so that no compiler may fuse the two.

// mix goes from a to b by t in 0..1.
func mix(a, b, t float64) float64 { return a + float64((b-a)*t) }

// clamp holds x between low and high.
func clamp(x, low, high float64) float64 { return min(max(x, low), high) }

// smooth rises from 0 to 1 while x goes from low to high.
func smooth(low, high, x float64) float64 {
	t := clamp((x-low)/(high-low), 0, 1)
	return float64(float64(t*t) * (3 - float64(2*t)))
}

// sinCos answers the sine and cosine of an angle in radians, |angle| < 1e8, with an error below 1e-9.
func sinCos(angle float64) (sin, cos float64) {
	quarter := math.Floor(float64(angle*(2/math.Pi)) + 0.5)
	// pi/2 in two parts keeps the reduced angle exact to about 1e-17 for the angles of any flight.
	const high, low = 1.5707963267341256, 6.077100506506192e-11
	r := (angle - float64(quarter*high)) - float64(quarter*low)
	r2 := float64(r * r)
	s := horner(r2, -1.0/39916800, 1.0/362880, -1.0/5040, 1.0/120, -1.0/6, 1)
	s = float64(s * r)
	c := horner(r2, 1.0/479001600, -1.0/3628800, 1.0/40320, -1.0/720, 1.0/24, -0.5, 1)
	switch int64(quarter) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// horner evaluates a polynomial, the highest coefficient first.
func horner(x float64, coefficients ...float64) float64 {
	sum := 0.0
	for _, c := range coefficients {
		sum = float64(sum*x) + c
	}
	return sum
}

// expNegative answers e to the power of -x for x >= 0 with a relative error below 1e-9.
func expNegative(x float64) float64 {
	if x > 40 {
		return 0
	}
	// e^-x = (e^(-x/1024))^1024.
	y := horner(x/-1024, 1.0/24, 1.0/6, 0.5, 1, 1)
	for range 10 {
		y = float64(y * y)
	}
	return y
}
