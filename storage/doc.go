// Package storage keeps artifacts: an object is put once under its key, opened by range, listed, signed and deleted.
//
// It promises that an object is visible only whole, with the size and the SHA-256 that were measured while it was written, that a key is
// never overwritten, and that no error of a driver's wire or file system leaves the room untranslated. It knows no job, no tenant and
// no HTTP route: a key is made by the caller, from parts that the caller trusts.
package storage
