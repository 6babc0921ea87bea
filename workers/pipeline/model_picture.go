package pipeline

import (
	"errors"
	"fmt"

	"telefuser/workers/models/weights"
)

// takes refuses a transformer of another kind than the model's: one that begins with a picture where the model's does not, or reads a picture's features.
func (m modelShape) takes(d weights.DiTConfig) error {
	if d.In != m.dit.In || d.Out != m.dit.Out {
		return fmt.Errorf("the transformer has %d channels in and %d out, and %d and %d are wanted", d.In, d.Out, m.dit.In, m.dit.Out)
	}
	if reads, wanted := d.Image > 0, m.dit.Image > 0; reads != wanted {
		return fmt.Errorf("the transformer reads a picture's features: %t; wanted: %t", reads, wanted)
	}
	return nil
}

// readImage opens the image encoder, whose features have to be those that the transformer reads.
func (w *modelWeights) readImage(at []weights.Folder) error {
	place, err := placeOf(at, weights.PartImage)
	if err != nil {
		return err
	}
	if w.clip, err = place.CLIP(); err != nil {
		return err
	}
	checkpoint, err := weights.Open(place.Path)
	if err != nil {
		return err
	}
	w.clip = w.clip.Observe(checkpoint)
	if w.image, err = checkpoint.Fit(w.clip.Blueprint()); err != nil {
		return errors.Join(err, checkpoint.Close())
	}
	if w.clip.Dim != w.dit.Image {
		return fmt.Errorf("the %s gives features of %d numbers, and the transformer reads %d", weights.PartImage, w.clip.Dim, w.dit.Image)
	}
	return nil
}
