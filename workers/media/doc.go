// Package media holds what a pipeline makes and what a viewer gets: frames, chunks of frames, still images, and the writers that turn
// them into MP4, WebP and JPEG files.
//
// It promises exact frame counts and bounded decoding: every foreign image is measured before a pixel of it is allocated. It knows
// no job, no storage and no GPU.
package media
