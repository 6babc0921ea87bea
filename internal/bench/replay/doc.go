// Package replay plays one bounded, lossless live session as a streaming benchmark does, and holds what came against what was declared.
//
// It promises to count what really arrived, and to decode all of it: frames that were declared by the server, published by its own count, received whole and
// shown by a decoder are four numbers from four places. It is a black box: it knows the wire and the media server's protocol alone.
package replay
