package terrain

// air holds what the distance does to colours, for one world and one view.
type air struct {
	// fog is the weight of the fog's colour at each sample, mist that of low mist at sea level, both 0..256.
	fog, mist []uint64
	// low is the share of mist left at each height over the water, by 4 cells, 0..256.
	low [256]uint64
	// distant is the colour of the fog, glare that before the sun.
	distant, glare packed
}

func newAir(w *World, v *view) *air {
	a := &air{fog: make([]uint64, len(v.depths)), mist: make([]uint64, len(v.depths))}
	for i, fixed := range v.depths {
		depth := float64(float64(fixed) / (1 << depthBits))
		thin := float64(depth * w.look.haze / 3300)
		clear := expNegative(float64(thin * (0.45 + float64(0.4*thin))))
		// Whatever the haze, the end of the map is out of sight.
		gone := smooth(float64(farDepth*0.72), farDepth, depth)
		a.fog[i] = uint64(float64(256*(1-float64(clear*(1-gone)))) + 0.5)
		a.mist[i] = uint64(float64(float64(256*w.look.mist)*(1-expNegative(depth/900))) + 0.5)
	}
	for i := range a.low {
		a.low[i] = uint64(float64(256*expNegative(float64(i)/9)) + 0.5)
	}
	a.distant = w.light.fog.pack()
	a.glare = w.light.fog.mix(w.light.glare, 0.8).pack()
	return a
}
