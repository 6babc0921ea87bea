// Package terrain renders flights over landscapes that do not exist: a world renderer that needs no weights, and no GPU
// though it can use one.
//
// A World follows from a prompt, a seed and, if there is one, a reference image: the prompt's words choose country, light and weather,
// everything else about it is decided by a hash of prompt and seed. A Flight is the camera: held keys, a script or an autopilot, one
// pose a frame, with the steps of the video models that share this contract. A Renderer draws what a pose sees, straight to I420.
// A State carries all three to a later request, which continues without a seam.
//
// It promises:
//
//   - The same request gives the same bytes, for any number of goroutines, however the frames are cut into chunks, whether the flight
//     was continued from a state or not. Frames are drawn in integers; all that leads to them is plain float64 arithmetic whose products
//     are rounded before they are added, with sine, cosine and exponential of its own. So amd64 and arm64 agree as well; a test looks
//     for fused operations in the code for arm64.
//   - A CUDARenderer gives the bytes of a Renderer. terrain.cu does the same integers in the same order; a test runs its source on the
//     processor, so a machine without a GPU holds the promise.
//   - A renderer takes at most 64 MB beside its frames, however far the flight goes. The map is made where somebody looks, in blocks that
//     depend on nothing but the world and their own place.
//   - A change of the style prompt changes colours, light and weather, and neither the ground nor the flight.
//
// Errors of a device are those of package gpu. It must not know jobs, sessions, chunks or the network. The method, with its formulas, is in docs/terrain.md.
package terrain
