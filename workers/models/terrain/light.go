package terrain

// light is what sun, sky and air do at one hour.
type light struct {
	hour float64
	// sun multiplies what the sun (or the moon) shines on, ambient what the sky does.
	sun, ambient colour
	// elevation is the sine-like height of the sun: rise over run.
	elevation float64
	// zenith, middle and horizon are the sky from top to bottom; fog is the colour of distance, and glare the air before the sun.
	zenith, middle, horizon, fog, glare colour
	cloudBright, cloudDark              colour
	// glow says how wide the sun's light spreads, 0..1, disc how bright the disc itself is, and stars how many stars are seen, 0..1.
	glow, disc, stars float64
}

// lights are the hours between which the light changes evenly.
func lights() []light {
	night := light{
		sun: colour{0.42, 0.52, 0.74}, ambient: colour{0.24, 0.30, 0.46}, elevation: 0.30,
		zenith: rgb(0x070c22), middle: rgb(0x111d42), horizon: rgb(0x2c4270), fog: rgb(0x223460), glare: rgb(0x6e86b8),
		cloudBright: rgb(0x4c5f8a), cloudDark: rgb(0x141d38), glow: 0.35, disc: 0.95, stars: 1,
	}
	dawn := light{
		sun: colour{1.05, 0.66, 0.48}, ambient: colour{0.42, 0.42, 0.58}, elevation: 0.10,
		zenith: rgb(0x3a5a9a), middle: rgb(0xa98fb4), horizon: rgb(0xf6b48a), fog: rgb(0xcfa3a0), glare: rgb(0xffd0a0),
		cloudBright: rgb(0xffc9a8), cloudDark: rgb(0x8f7a9c), glow: 1, disc: 1, stars: 0.1,
	}
	morning := light{
		sun: colour{1.12, 0.98, 0.80}, ambient: colour{0.46, 0.52, 0.64}, elevation: 0.42,
		zenith: rgb(0x2f6ec4), middle: rgb(0x74a8e0), horizon: rgb(0xc8dcec), fog: rgb(0xb6cbe0), glare: rgb(0xf4e6cc),
		cloudBright: rgb(0xffffff), cloudDark: rgb(0xa9b6c8), glow: 0.75, disc: 1,
	}
	noon := light{
		sun: colour{1.10, 1.05, 0.95}, ambient: colour{0.48, 0.54, 0.64}, elevation: 1.1,
		zenith: rgb(0x2464bc), middle: rgb(0x5f9ce0), horizon: rgb(0xbcd6ee), fog: rgb(0xb2cbe4), glare: rgb(0xe8eef4),
		cloudBright: rgb(0xffffff), cloudDark: rgb(0xb4c0d0), glow: 0.45, disc: 1,
	}
	afternoon := morning
	afternoon.sun, afternoon.elevation, afternoon.horizon = colour{1.15, 0.95, 0.72}, 0.38, rgb(0xd4dde0)
	sunset := light{
		sun: colour{1.35, 0.66, 0.34}, ambient: colour{0.42, 0.37, 0.52}, elevation: 0.10,
		zenith: rgb(0x2b4586), middle: rgb(0xa86a90), horizon: rgb(0xff8e4a), fog: rgb(0xb87a74), glare: rgb(0xffb25c),
		cloudBright: rgb(0xffa868), cloudDark: rgb(0x6c4c74), glow: 1, disc: 1,
	}
	dusk := light{
		sun: colour{0.55, 0.36, 0.42}, ambient: colour{0.28, 0.28, 0.44}, elevation: 0.05,
		zenith: rgb(0x16224e), middle: rgb(0x4c4880), horizon: rgb(0xc8768a), fog: rgb(0x6a5a80), glare: rgb(0xe08a80),
		cloudBright: rgb(0xb87890), cloudDark: rgb(0x33305c), glow: 0.9, disc: 0.6, stars: 0.4,
	}
	at := func(hour float64, l light) light { l.hour = hour; return l }
	return []light{
		at(0, night), at(4.8, night), at(6.2, dawn), at(8.2, morning), at(12, noon), at(15.6, afternoon), at(18.2, sunset),
		at(19.4, dusk), at(20.8, night), at(24, night),
	}
}

// lightAt is the light of an hour, 0..24.
func lightAt(hour float64) light {
	all := lights()
	for i := 1; i < len(all); i++ {
		if hour <= all[i].hour {
			return all[i-1].mix(all[i], (hour-all[i-1].hour)/(all[i].hour-all[i-1].hour))
		}
	}
	return all[0]
}

func (l light) mix(o light, t float64) light {
	return light{
		hour: mix(l.hour, o.hour, t), sun: l.sun.mix(o.sun, t), ambient: l.ambient.mix(o.ambient, t), elevation: mix(l.elevation, o.elevation, t),
		zenith: l.zenith.mix(o.zenith, t), middle: l.middle.mix(o.middle, t), horizon: l.horizon.mix(o.horizon, t), fog: l.fog.mix(o.fog, t), glare: l.glare.mix(o.glare, t),
		cloudBright: l.cloudBright.mix(o.cloudBright, t), cloudDark: l.cloudDark.mix(o.cloudDark, t),
		glow: mix(l.glow, o.glow, t), disc: mix(l.disc, o.disc, t), stars: mix(l.stars, o.stars, t),
	}
}

// under is the light under a look's sky, air and cloud.
func (l light) under(k look) light {
	tinted := func(c colour) colour {
		wanted := k.sky.scale(c.luma() / max(k.sky.luma(), 0.05))
		return c.mix(wanted, k.skyTint)
	}
	l.zenith, l.middle, l.horizon, l.fog = tinted(l.zenith), tinted(l.middle), tinted(l.horizon), tinted(l.fog)
	l.cloudDark = tinted(l.cloudDark)
	if k.picture {
		bright := k.skyPicture.luma() + 0.1
		l.zenith, l.horizon = k.skyZenith, k.skyHorizon
		l.middle = k.skyZenith.mix(k.skyHorizon, 0.5)
		l.fog = k.skyHorizon.mix(l.fog, 0.2)
		l.cloudBright, l.cloudDark = k.skyPicture.mix(colour{1, 1, 1}, 0.4), k.skyPicture.scale(0.75)
		l.ambient = l.ambient.mix(k.skyPicture.scale(0.6/bright), 0.5)
	}
	warm := colour{1 + float64(0.10*k.warmth), 1, 1 - float64(0.14*k.warmth)}
	l.sun, l.fog, l.horizon = l.sun.times(warm), l.fog.times(warm), l.horizon.times(warm)
	// A covered sky takes from the sun and gives to the ambient, and everything turns grey.
	cover := smooth(0.6, 1, k.clouds)
	l.sun = l.sun.scale(1 - float64(0.65*cover))
	l.ambient = l.ambient.scale(1 + float64(0.25*cover))
	for _, c := range []*colour{&l.zenith, &l.middle, &l.horizon, &l.fog, &l.glare, &l.cloudBright} {
		*c = c.grey(float64(0.55 * cover)).scale(1 - float64(0.14*cover))
	}
	l.cloudBright, l.cloudDark = l.cloudBright.scale(1-float64(0.30*cover)), l.cloudDark.scale(1-float64(0.34*cover))
	l.glow = float64(l.glow * (1 - float64(0.6*cover)))
	return l
}
