package contract

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ParseSize reads a size such as "832x480" as width and height in pixels. It checks the form only; Geometry holds the bounds.
// Its error is an *Error for the field `size`.
func ParseSize(text string) (width, height int, err error) {
	w, h, found := strings.Cut(text, "x")
	if found {
		width, okWidth := parseSide(w)
		height, okHeight := parseSide(h)
		if okWidth && okHeight {
			return width, height, nil
		}
	}
	return 0, 0, invalid("size", CodeInvalidValue, "size must be WIDTHxHEIGHT, such as 832x480, or one of %s", strings.Join(sizeNames(), ", "))
}

// parseSide takes 1 to 5 digits without a leading zero.
func parseSide(text string) (int, bool) {
	if len(text) == 0 || len(text) > 5 || text[0] == '0' {
		return 0, false
	}
	side, err := strconv.ParseUint(text, 10, 32)
	return int(side), err == nil
}

func sizeNames() []string { return []string{"480p", "720p", "1080p"} }

// shortSide is the shorter side in pixels that a named size stands for.
func shortSide(name string) (int, bool) {
	switch strings.ToLower(name) {
	case "480p":
		return 480, true
	case "720p":
		return 720, true
	case "1080p":
		return 1080, true
	}
	return 0, false
}

// aspectRatios are the accepted values of `aspect_ratio`.
func aspectRatios() []string { return []string{"16:9", "9:16", "4:3", "3:4", "1:1", "3:2", "2:3"} }

// ratio reads an aspect ratio of the list.
func ratio(text string) (w, h int, err error) {
	for _, known := range aspectRatios() {
		if text == known {
			left, right, _ := strings.Cut(text, ":")
			w, _ = strconv.Atoi(left)
			h, _ = strconv.Atoi(right)
			return w, h, nil
		}
	}
	return 0, 0, invalid("aspect_ratio", CodeInvalidValue, "aspect_ratio must be one of %s", strings.Join(aspectRatios(), ", "))
}

// sizeOfRatio is the size of the given shorter side and ratio, its longer side rounded to the nearest multiple.
func sizeOfRatio(short, ratioW, ratioH, multiple int) (width, height int) {
	long := func(a, b int) int {
		exact := short * a
		return (exact + b*multiple/2) / (b * multiple) * multiple
	}
	if ratioW >= ratioH {
		return long(ratioW, ratioH), short
	}
	return short, long(ratioH, ratioW)
}

// shaped is the size of the given shorter side and ratio: where only some sizes are taken, the one of that side and of the nearest ratio.
func (g Geometry) shaped(short, ratioW, ratioH int) (width, height int) {
	width, height = sizeOfRatio(short, ratioW, ratioH, g.SideMultiple)
	want, best := math.Log(float64(ratioW)/float64(ratioH)), math.Inf(1)
	for _, size := range g.Sizes {
		w, h, err := ParseSize(size)
		if err != nil || min(w, h) != short {
			continue
		}
		if off := math.Abs(math.Log(float64(w)/float64(h)) - want); off < best {
			best, width, height = off, w, h
		}
	}
	return width, height
}

// Takes says whether a size is one of those that the pipeline takes.
func (g Geometry) Takes(width, height int) bool {
	ok := width >= g.WidthMin && height >= g.HeightMin && width <= g.SideMax && height <= g.SideMax && width*height <= g.PixelsMax &&
		width%g.SideMultiple == 0 && height%g.SideMultiple == 0
	return ok && (len(g.Sizes) == 0 || slices.Contains(g.Sizes, sizeText(width, height)))
}

func sizeText(width, height int) string { return strconv.Itoa(width) + "x" + strconv.Itoa(height) }

// sizeField resolves size, width, height and aspect_ratio to one size within the geometry.
func (r *reading) sizeField() {
	width, height, named := r.sizeText()
	pairW, pairH := r.pair()
	switch {
	case r.err != nil:
		return
	case width == 0 && pairW == 0:
		width, height = r.defaultSize()
		named = "size"
	case width == 0:
		width, height, named = pairW, pairH, "width"
	case pairW != 0 && (pairW != width || pairH != height):
		r.fail("size", CodeInvalidValue, "size %dx%d and width and height %dx%d contradict each other; give one of them", width, height, pairW, pairH)
		return
	}
	if r.err == nil {
		r.checkSize(width, height, named)
	}
}

// sizeText reads `size` and `aspect_ratio`; the width is 0 where neither says anything.
func (r *reading) sizeText() (width, height int, named string) {
	aspect, hasAspect := r.takeText("aspect_ratio")
	size, hasSize := r.takeText("size")
	if r.err != nil || !hasAspect && !hasSize {
		return 0, 0, ""
	}
	ratioW, ratioH := 16, 9
	if hasAspect {
		var err error
		if ratioW, ratioH, err = ratio(aspect); err != nil {
			r.failWith(err)
			return 0, 0, ""
		}
	}
	if !hasSize {
		if _, pairGiven := r.in.Fields["width"]; pairGiven {
			r.fail("aspect_ratio", CodeInvalidValue, "aspect_ratio goes with a named size, not with width and height")
			return 0, 0, ""
		}
		geometry := r.c.Geometry
		width, height = geometry.shaped(min(geometry.DefaultWidth, geometry.DefaultHeight), ratioW, ratioH)
		return width, height, "aspect_ratio"
	}
	if short, isName := shortSide(size); isName {
		width, height = r.c.Geometry.shaped(short, ratioW, ratioH)
		return width, height, "size"
	}
	width, height, err := ParseSize(size)
	if err != nil {
		r.failWith(err)
		return 0, 0, ""
	}
	if hasAspect && (ratioW > ratioH) != (width > height) {
		r.fail("aspect_ratio", CodeInvalidValue, "aspect_ratio %s contradicts size %dx%d; give one of them", aspect, width, height)
	}
	return width, height, "size"
}

// pair reads `width` and `height`, which go together.
func (r *reading) pair() (width, height int) {
	w, hasWidth := r.takeInteger("width", 1, 99999)
	h, hasHeight := r.takeInteger("height", 1, 99999)
	switch {
	case r.err != nil || !hasWidth && !hasHeight:
		return 0, 0
	case !hasHeight:
		r.fail("height", CodeMissingParameter, "width needs height beside it")
	case !hasWidth:
		r.fail("width", CodeMissingParameter, "height needs width beside it")
	}
	return int(w), int(h)
}

func (r *reading) defaultSize() (width, height int) {
	if r.in.DefaultWidth > 0 && r.in.DefaultHeight > 0 {
		return r.in.DefaultWidth, r.in.DefaultHeight
	}
	return r.c.Geometry.DefaultWidth, r.c.Geometry.DefaultHeight
}

func (r *reading) checkSize(width, height int, named string) {
	geometry := r.c.Geometry
	r.out.Width, r.out.Height, r.out.Size = width, height, sizeText(width, height)
	switch {
	case len(geometry.Sizes) > 0:
		if !slices.Contains(geometry.Sizes, r.out.Size) {
			r.fail(named, CodeInvalidValue, "%s: %s is not supported by the pipeline %s; it takes %s", named, r.out.Size, r.c.Name, strings.Join(geometry.Sizes, ", "))
		}
	case width < geometry.WidthMin || height < geometry.HeightMin:
		r.fail(named, CodeInvalidValue, "%s: %dx%d is too small; the least is %dx%d", named, width, height, geometry.WidthMin, geometry.HeightMin)
	case width > geometry.SideMax || height > geometry.SideMax:
		r.fail(named, CodeInvalidValue, "%s: %dx%d is too large; a side has at most %d pixels", named, width, height, geometry.SideMax)
	case width*height > geometry.PixelsMax:
		r.fail(named, CodeInvalidValue, "%s: %dx%d is too large; at most %d pixels in all", named, width, height, geometry.PixelsMax)
	case width%geometry.SideMultiple != 0 || height%geometry.SideMultiple != 0:
		r.fail(named, CodeInvalidValue, "%s: %dx%d: both sides must be multiples of %d", named, width, height, geometry.SideMultiple)
	}
}
