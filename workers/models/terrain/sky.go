package terrain

// skyOf is a column of sky.
type skyOf struct {
	*scene
	ray
	baseX, baseZ int64
}

func (s *scene) skyOf(r ray) skyOf {
	return skyOf{scene: s, ray: r, baseX: int64(float64(s.cloudX * (1 << depthBits))), baseZ: int64(float64(s.cloudZ * (1 << depthBits)))}
}

// skyColumn draws the sky above the edge. Every second row is computed; the rows between are the means of their neighbours.
func (s *scene) skyColumn(r ray, sums []packed, edge int64) {
	rows := int((edge + 1<<screenBits - 1) >> screenBits)
	part := uint64(edge & 255)
	full := rows
	if part > 0 {
		full--
	}
	sky := s.skyOf(r)
	previous := packed(0)
	for y := 0; y < rows+1; y += 2 {
		c := sky.at(min(y, s.view.height-1))
		if y > 0 {
			put(sums, y-1, (previous+c)>>1&lanesMask, full, part)
		}
		put(sums, y, c, full, part)
		previous = c
	}
	s.skyLights(r.x, sums, full)
}

// put writes a pixel of sky, or the part of the last one that the ground leaves free.
func put(sums []packed, y int, c packed, full int, part uint64) {
	switch {
	case y < full:
		sums[y] = c << 8
	case y == full && part > 0:
		sums[y] += c * part
	}
}

// at is the sky at one row, which may lie above the picture: gradient, the sun's glow, clouds.
func (s *skyOf) at(row int) packed {
	row = max(row+s.view.height, 0)
	c := s.sky.colours[row]
	lit := s.glare * s.glareY[row] >> 8
	if lit > 0 { // a blend by 0 changes nothing
		c = blend(c, s.sunLight, lit)
	}
	fade := s.sky.fade[row]
	if fade == 0 {
		return c
	}
	reach := s.sky.reach[row]
	level := uint(s.sky.level[row])
	// Positions on the cloud map with 8 bits after the point.
	const unit = int64(cloudSpacing)
	u := (s.baseX + (s.dirX*reach)>>rayBits) / unit >> level
	v := (s.baseZ + (s.dirZ*reach)>>rayBits) / unit >> level
	bits := cloudBits - level
	mask := int64(1)<<bits - 1
	i, j := u>>8&mask, v>>8&mask
	i1, j1 := (i+1)&mask, (j+1)&mask
	fu, fv := uint64(u&255), uint64(v&255)
	cloud := s.world.clouds.maps[level]
	top := uint64(cloud[j<<bits|i])*(256-fu) + uint64(cloud[j<<bits|i1])*fu
	bottom := uint64(cloud[j1<<bits|i])*(256-fu) + uint64(cloud[j1<<bits|i1])*fu
	// The two fields of a word stay apart: 9 bits and 8 of weight need 17, so they are weighed one by one.
	dense := (top&0xffff>>8*(256-fv) + bottom&0xffff>>8*fv) >> 8
	weight := dense * fade >> 8
	if weight == 0 {
		return c
	}
	bright := (top>>24*(256-fv) + bottom>>24*fv) >> 8
	tone := blend(s.cloudDark, s.cloudBright, min(bright, 256))
	if lit > 0 {
		tone = blend(tone, s.sunLight, lit*bright>>9)
	}
	return blend(c, tone, weight)
}

// skyLights draws what shines in a column: stars and the disc of the sun or the moon.
func (s *scene) skyLights(x int, sums []packed, full int) {
	for _, star := range s.stars {
		if star.column == x && star.row < full {
			sums[star.row] = addLight(sums[star.row], star.bright<<3)
		}
	}
	if s.sun.radius == 0 {
		return
	}
	dx := float64(x) + 0.5 - s.sun.x
	reach := float64(s.sun.radius * 5)
	if max(dx, -dx) > reach {
		return
	}
	white := s.discColour()
	from, to := max(int(s.sun.y-reach), 0), min(int(s.sun.y+reach)+1, full)
	for y := from; y < to; y++ {
		dy := float64(y) + 0.5 - s.sun.y
		away := (float64(dx*dx) + float64(dy*dy)) / float64(s.sun.radius*s.sun.radius)
		glow := smooth(1.15, 0.85, away) + float64(0.55*expNegative(away*0.22))
		weight := uint64(float64(256 * clamp(float64(glow*s.sun.bright), 0, 1)))
		sums[y] = blend(sums[y]>>8&lanesMask, white, weight) << 8
	}
}

// discColour is the middle of the sun's or the moon's disc.
func (s *scene) discColour() packed { return s.world.light.glare.mix(colour{1, 1, 1}, 0.7).pack() }

// addLight raises the luma of a sum by light, up to white.
func addLight(sum packed, light uint64) packed {
	luma := min(sum&laneMask+light<<8, 235<<12)
	return sum&^laneMask | luma
}
