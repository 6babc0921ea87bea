package terrain

// look says what the land is made of. It changes no height.
type look struct {
	deep, shallow, shore              colour
	grass, lush, dry, soil            colour
	rock, rockDark, snow              colour
	snowLine, treeLine                float64 // cells over the water
	forest                            float64 // 0..1, how much of the gentle land has trees
	canopy                            float64 // height of trees in cells
	strata                            float64 // 0..1, how strongly rock is banded
	mirror                            float64 // 0..1, how well the water reflects
	glow                              float64 // 0..1, how much of the water's own colour is light of its own
	sky                               colour  // tint of the sky
	skyTint                           float64 // 0..1
	haze, mist, clouds                float64 // multiples of the usual fog; low fog 0..1; cover 0..1
	ripple                            float64 // 0..1, roughness of the water
	hour                              float64 // usual time of day where the prompt names none; below 0 for a random one
	warmth                            float64 // shifts the light, -1 cold .. 1 warm
	skyHorizon, skyZenith, skyPicture colour  // a reference image's sky
	picture                           bool    // whether the sky is the image's
}

// biome is a kind of country: its form and its look.
type biome struct {
	name  string
	words []string
	shape shape
	look  look
}

// temperate is the country that the others differ from.
func temperate() biome {
	return biome{
		name: "temperate",
		shape: shape{
			land: 26, continent: 62, hills: 46, mountains: 250, peaks: -0.05, wave: 760, ridge: 0.35, erosion: 0.55,
			rough: 0.48,
		},
		look: look{
			deep: rgb(0x123f52), shallow: rgb(0x3f8f8c), shore: rgb(0xc9b68c),
			grass: rgb(0x6f8f3f), lush: rgb(0x2f5426), dry: rgb(0xa39a55), soil: rgb(0x7d6a4c),
			rock: rgb(0x857b70), rockDark: rgb(0x57504a), snow: rgb(0xf4f7fb),
			snowLine: 235, treeLine: 150, forest: 0.55, canopy: 3.4, strata: 0.25, mirror: 0.9,
			sky: rgb(0x5b93d6), haze: 1, clouds: 0.45, ripple: 0.5, hour: -1,
		},
	}
}

// biomes lists the countries that a prompt can name. The order decides where it names several.
func biomes() []biome {
	return []biome{
		volcano(), mars(), alien(), canyon(), desert(), arctic(), islands(), autumn(), spring(), jungle(), savanna(), forest(), alps(), plains(),
	}
}

func desert() biome {
	b := temperate()
	b.name, b.words = "desert", []string{"desert", "dune", "sahara", "arid", "sand", "沙漠"}
	b.shape.land, b.shape.continent, b.shape.hills, b.shape.mountains, b.shape.peaks = 60, 20, 16, 150, -0.45
	b.shape.dunes, b.look.canopy, b.shape.ridge = 26, 0, 0.2
	b.look.grass, b.look.lush, b.look.dry = rgb(0xd9a866), rgb(0xcf9850), rgb(0xe6bd7c)
	b.look.soil, b.look.rock, b.look.rockDark, b.look.shore = rgb(0xc48a4f), rgb(0xa8643c), rgb(0x7a4530), rgb(0xe8cc96)
	b.look.forest, b.look.snowLine, b.look.clouds, b.look.strata, b.look.warmth, b.look.haze = 0, 2000, 0.12, 0.6, 0.35, 1.1
	return b
}

func canyon() biome {
	b := desert()
	b.name, b.words = "canyon", []string{"canyon", "mesa", "badland", "arizona", "monument valley", "cliff", "峡谷"}
	b.shape.land, b.shape.continent, b.shape.hills, b.shape.mountains, b.shape.peaks = 30, 40, 90, 190, 0.1
	b.shape.dunes, b.shape.terrace, b.shape.terraceMix, b.shape.erosion = 0, 46, 0.85, 0.2
	b.look.grass, b.look.dry, b.look.lush = rgb(0xb98a55), rgb(0xc98f5a), rgb(0x8b8a4a)
	b.look.soil, b.look.rock, b.look.rockDark = rgb(0xb5673c), rgb(0xb85f38), rgb(0x8a3f2a)
	b.look.strata, b.look.treeLine, b.look.forest = 1, 60, 0.12
	b.look.canopy = 1.5
	return b
}

func mars() biome {
	b := desert()
	b.name, b.words = "mars", []string{"mars", "martian", "red planet", "火星"}
	b.shape.dunes, b.shape.hills, b.shape.mountains, b.shape.peaks, b.shape.ridge = 8, 40, 240, -0.05, 0.45
	b.look.grass, b.look.dry, b.look.lush = rgb(0xb5623a), rgb(0xc77a4a), rgb(0x9c4f30)
	b.look.soil, b.look.rock, b.look.rockDark, b.look.shore = rgb(0x99492e), rgb(0x7c3b2b), rgb(0x4d2722), rgb(0xc98a5c)
	b.look.sky, b.look.skyTint, b.look.clouds, b.look.haze, b.look.mist = rgb(0xd9a27a), 0.85, 0.06, 1.6, 0.15
	return b
}

func volcano() biome {
	b := temperate()
	b.name, b.words = "volcano", []string{"volcan", "lava", "magma", "inferno", "火山"}
	b.shape.land, b.shape.hills, b.shape.mountains, b.shape.peaks, b.shape.ridge, b.look.canopy = 14, 60, 330, 0.15, 0.7, 0
	b.look.grass, b.look.dry, b.look.lush = rgb(0x54494a), rgb(0x6a5a52), rgb(0x453c3e)
	b.look.soil, b.look.rock, b.look.rockDark, b.look.shore = rgb(0x5a4640), rgb(0x4a3f3e), rgb(0x2c2627), rgb(0x3a221c)
	b.look.deep, b.look.shallow, b.look.glow, b.look.mirror, b.look.ripple = rgb(0xff5a10), rgb(0xffb43a), 1, 0.05, 0.2
	b.look.snowLine, b.look.forest = 2000, 0
	b.look.sky, b.look.skyTint, b.look.clouds, b.look.haze, b.look.mist, b.look.hour = rgb(0x8a3a2c), 0.6, 0.62, 1.4, 0.2, 18.5
	return b
}

func alien() biome {
	b := temperate()
	b.name, b.words = "alien", []string{"alien", "fantasy", "surreal", "dream", "magic", "neon", "cyber", "crystal", "another planet"}
	b.shape.ridge, b.shape.mountains, b.shape.peaks = 0.8, 300, 0.1
	b.look.grass, b.look.lush, b.look.dry = rgb(0x3aa6a0), rgb(0x6a3fa0), rgb(0xd36fb0)
	b.look.soil, b.look.rock, b.look.rockDark, b.look.shore = rgb(0x4a3f7a), rgb(0x6b5aa8), rgb(0x33275c), rgb(0xe6b6e0)
	b.look.deep, b.look.shallow = rgb(0x1a2d7a), rgb(0x37d6c8)
	b.look.sky, b.look.skyTint, b.look.clouds = rgb(0x9a6be0), 0.6, 0.5
	return b
}

func arctic() biome {
	b := temperate()
	b.name, b.words = "arctic", []string{"snow", "winter", "arctic", "antarctic", "ice", "icy", "glacier", "frozen", "frost", "tundra", "polar", "christmas", "雪", "冬"}
	b.shape.mountains, b.shape.ridge = 300, 0.6
	b.look.grass, b.look.dry, b.look.lush = rgb(0xe9eef4), rgb(0xdfe6ee), rgb(0x3c4f4a)
	b.look.soil, b.look.rock, b.look.rockDark, b.look.shore = rgb(0xbfc7d0), rgb(0x6f757e), rgb(0x454b55), rgb(0xdde6ec)
	b.look.deep, b.look.shallow = rgb(0x2c5a78), rgb(0x9cc9d8)
	b.look.snowLine, b.look.forest, b.look.treeLine, b.look.mirror, b.look.ripple = 12, 0.35, 90, 0.75, 0.15
	b.look.warmth, b.look.clouds, b.look.haze = -0.25, 0.4, 1.2
	return b
}

func islands() biome {
	b := temperate()
	b.name, b.words = "islands", []string{"ocean", "island", "sea", "beach", "coast", "tropical", "lagoon", "atoll", "maldives", "hawaii", "caribbean", "archipelago", "wave", "海", "岛"}
	b.shape.land, b.shape.continent, b.shape.hills, b.shape.mountains, b.shape.peaks, b.shape.wave = -30, 70, 40, 170, -0.15, 620
	b.look.deep, b.look.shallow, b.look.shore = rgb(0x0a4a78), rgb(0x36c2bd), rgb(0xecdcae)
	b.look.grass, b.look.lush, b.look.dry = rgb(0x5f9a3c), rgb(0x256b2f), rgb(0x9fae58)
	b.look.snowLine, b.look.treeLine, b.look.forest, b.look.clouds, b.look.haze = 900, 260, 0.75, 0.4, 0.8
	return b
}

func autumn() biome {
	b := temperate()
	b.name, b.words = "autumn", []string{"autumn", "fall foliage", "october", "maple", "秋"}
	b.look.grass, b.look.lush, b.look.dry = rgb(0xb08a3c), rgb(0xb4481f), rgb(0xd9a53a)
	b.look.soil, b.look.forest, b.look.warmth, b.look.hour = rgb(0x6f4d33), 0.85, 0.3, 16.6
	b.look.canopy = 4
	return b
}

func spring() biome {
	b := temperate()
	b.name, b.words = "spring", []string{"spring", "meadow", "flower", "blossom", "cherry", "lavender", "garden", "春"}
	b.shape.mountains, b.shape.peaks = 190, -0.2
	b.look.grass, b.look.lush, b.look.dry = rgb(0x86b04a), rgb(0x4a8a3c), rgb(0xd9a0b8)
	b.look.forest, b.look.hour = 0.4, 9.5
	return b
}

func jungle() biome {
	b := temperate()
	b.name, b.words = "jungle", []string{"jungle", "rainforest", "amazon", "swamp", "丛林"}
	b.look.canopy, b.shape.mountains, b.shape.land = 6, 210, 18
	b.look.grass, b.look.lush, b.look.dry = rgb(0x4f8a35), rgb(0x1d4a22), rgb(0x7a9a40)
	b.look.deep, b.look.shallow = rgb(0x24443a), rgb(0x4f7a5a)
	b.look.forest, b.look.treeLine, b.look.snowLine, b.look.mist, b.look.haze = 1, 320, 900, 0.45, 1.3
	return b
}

func savanna() biome {
	b := temperate()
	b.name, b.words = "savanna", []string{"savanna", "savannah", "safari", "africa", "prairie", "steppe", "草原"}
	b.shape.hills, b.shape.mountains, b.shape.peaks, b.shape.land = 18, 130, -0.4, 30
	b.look.grass, b.look.lush, b.look.dry = rgb(0xb79c4e), rgb(0x6f7c3a), rgb(0xd2b566)
	b.look.soil, b.look.forest, b.look.snowLine, b.look.warmth, b.look.hour = rgb(0xa0683f), 0.22, 900, 0.4, 17.2
	return b
}

func forest() biome {
	b := temperate()
	b.name, b.words = "forest", []string{"forest", "wood", "pine", "tree", "taiga", "森林"}
	b.look.canopy = 5
	b.look.lush, b.look.grass = rgb(0x274a2a), rgb(0x5a7a38)
	b.look.forest, b.look.treeLine, b.look.mist = 1, 230, 0.12
	return b
}

func alps() biome {
	b := temperate()
	b.name, b.words = "alps", []string{"mountain", "alps", "alpine", "peak", "summit", "himalaya", "everest", "andes", "rocky", "fjord", "norway", "山"}
	b.shape.mountains, b.shape.peaks, b.shape.ridge, b.shape.wave, b.shape.hills = 400, 0.4, 0.75, 900, 60
	b.look.snowLine, b.look.treeLine, b.look.strata = 205, 120, 0.35
	return b
}

func plains() biome {
	b := temperate()
	b.name, b.words = "plains", []string{"plain", "farmland", "field", "countryside", "valley", "lake", "river", "平原", "湖"}
	b.shape.land, b.shape.hills, b.shape.mountains, b.shape.peaks = 8, 20, 220, -0.25
	b.look.forest = 0.45
	return b
}
