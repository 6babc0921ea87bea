package media

// FromRGB converts to I420, BT.709 limited range. Odd sizes lose their last column or row.
func FromRGB(img Image) Frame { panic("in work") }

// ToRGB converts from I420, BT.709 limited range.
func ToRGB(f Frame) Image { panic("in work") }
