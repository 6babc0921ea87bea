package media

// FillSlots takes every place of the decoder for good.
func (d *ImageDecoder) FillSlots() {
	for range cap(d.slots) {
		d.slots <- struct{}{}
	}
}
