// Package api is the HTTP front: routes, keys, decoding, encoding and one table of errors. It speaks the wire contract of the OpenAI
// Videos API, with a few extensions, and the service routes beside it.
//
// It promises that every answer that is not a success is the error envelope, that nothing of another tenant can be seen, that every
// body has a limit, and that a dropped connection leaves nothing behind. It knows no Redis, no object store's protocol, no codec and no
// GPU: jobs, storage and a decoder of images are handed to it.
package api
