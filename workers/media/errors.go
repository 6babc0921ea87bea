package media

import "errors"

// What can go wrong with media. Every error of the room wraps one of these or the cause of the caller's context.
var (
	// ErrImageType means that the bytes are no still PNG, JPEG or WebP.
	ErrImageType = errors.New("media: unsupported image type")
	// ErrImageTooLarge means that the file, one side or the number of pixels is above the limits.
	ErrImageTooLarge = errors.New("media: image too large")
	// ErrImageCorrupt means that the image cannot be decoded.
	ErrImageCorrupt = errors.New("media: image corrupt")
	// ErrGeometry means that a size, rate or count does not fit the call.
	ErrGeometry = errors.New("media: geometry does not fit")
	// ErrEncoder means that ffmpeg or libvpx is missing, cannot do what is needed, or ended with an error.
	ErrEncoder = errors.New("media: encoder")
	// ErrNoSpace means that the disk for temporary files is full.
	ErrNoSpace = errors.New("media: no space left")
)
