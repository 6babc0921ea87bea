package media

// Resize scales the picture to w x h pixels, both at least 1, without keeping its proportions.
func Resize(img Image, w, h int) Image { panic("in work") }
