package media

// Spritesheet collects evenly spaced small pictures of a video. It is used by one goroutine at a time.
type Spritesheet struct{}

// NewSpritesheet prepares a sheet for a video of the given number of frames (0 where it is unknown) and size.
func NewSpritesheet(frames, width, height int) (*Spritesheet, error) { panic("in work") }

// Add looks at the frame with the given index, from 0 up; only those that the sheet wants are copied.
func (s *Spritesheet) Add(f Frame, index int) error { panic("in work") }

// JPEG draws the sheet.
func (s *Spritesheet) JPEG() ([]byte, error) { panic("in work") }
