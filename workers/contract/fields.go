package contract

import "slices"

// Fields lists every extension field that a request to this pipeline may have: those that the geometry gives and the contract's own
// parameters. Metadata and forms are made of it.
func (c Contract) Fields() []Parameter {
	geometry := c.Geometry
	bound := func(limit int) *float64 { value := float64(limit); return &value }
	fields := []Parameter{
		{Name: "size", Type: TypeString, LengthMax: 16, Description: "Width and height in pixels, such as 832x480, or 480p, 720p or 1080p."},
		{Name: "width", Type: TypeInteger, Min: bound(geometry.WidthMin), Max: bound(geometry.SideMax), Description: "Width in pixels, with height."},
		{Name: "height", Type: TypeInteger, Min: bound(geometry.HeightMin), Max: bound(geometry.SideMax), Description: "Height in pixels, with width."},
		{Name: "aspect_ratio", Type: TypeString, Enum: aspectRatios(), Description: "Shape of a named size; 16:9 where it is absent."},
		{Name: "seconds", Type: TypeInteger, Default: geometry.SecondsDefault, Min: bound(1), Max: bound(geometry.SecondsMax), Description: "Length in whole seconds; the video has exactly seconds x fps frames."},
		{Name: "fps", Type: TypeInteger, Default: geometry.FPSDefault, Min: bound(geometry.FPSMin), Max: bound(geometry.FPSMax), Description: "Frames a second."},
		{Name: "num_frames", Type: TypeInteger, Min: bound(1), Max: bound(geometry.FramesMax), Description: "Exact number of frames, in place of seconds."},
		{Name: "n", Aliases: []string{"num_outputs_per_prompt"}, Type: TypeInteger, Default: 1, Min: bound(1), Max: bound(1), Description: "Number of videos; always 1."},
	}
	if c.Camera {
		fields = append(fields, Parameter{Name: "camera", Type: TypeObject, Description: "Scripted flight: a list of timed controls {at, keys} or of poses {x, y, z, yaw, pitch}."})
	}
	return append(fields, c.Parameters...)
}

// Field finds an extension field by its name or one of its aliases.
func (c Contract) Field(name string) (Parameter, bool) {
	for _, field := range c.Fields() {
		if field.Name == name {
			return field, true
		}
		for _, alias := range field.Aliases {
			if alias == name {
				return field, true
			}
		}
	}
	return Parameter{}, false
}

// Answers reports whether name is the pipeline's name or one of its aliases.
func (c Contract) Answers(name string) bool {
	return name == c.Name || slices.Contains(c.Aliases, name)
}
