// Package world is what interactive world models share beside their networks: a Camera that held keys, a path or a script move from one
// latent frame to the next, the relative poses of a chunk, and the Plücker rays that tell a network of them.
//
// It promises that poses follow the formulas of docs/models.md exactly, in float64; that a camera which was stored between two chunks and
// read again goes on with the same bits; and that the cut into chunks changes no pose. It knows no tensor, no weights and no network of
// either kind.
package world
