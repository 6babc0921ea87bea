package clip

import "errors"

// ErrPicture means that there is no picture to see.
var ErrPicture = errors.New("clip: no picture")
