// Package clip sees pictures as Wan 2.1's picture-to-video transformers do: a picture becomes the features that the last layer but one of a CLIP's
// image encoder gives, a row for each patch and one in front of them. One code runs on every kernels.Backend.
//
// Dimensions come from a weights.CLIPConfig. Heads may be narrower than the 128 that the kernels know: their rows are filled up with zeros, which
// adds nothing to any product.
//
// The package knows neither files nor what features are for.
package clip
