package weights

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// mainFiles are the names that a model's only file has, best first.
var mainFiles = [...]string{"model", "diffusion_pytorch_model"} //nolint:gochecknoglobals // constant table

// shardName is what follows a model's name in the name of a shard.
var shardName = regexp.MustCompile(`^(.+)-(\d{5})-of-(\d{5})\.safetensors$`) //nolint:gochecknoglobals // constant

// listing is what a folder holds, by the names of models.
type listing struct {
	indices, whole map[string]bool
	shards         map[string][]string
	pickle         string
}

// only is the name of the single file; "" where there is not exactly one.
func (l listing) only() string {
	if len(l.whole) != 1 {
		return ""
	}
	for stem := range l.whole {
		return stem
	}
	return ""
}

// listWeights sorts what lies in a folder.
func listWeights(dir string) (listing, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, fmt.Errorf("weights: %w", err)
	}
	l := listing{indices: map[string]bool{}, whole: map[string]bool{}, shards: map[string][]string{}}
	for _, d := range all {
		name := d.Name()
		if stem, ok := strings.CutSuffix(name, indexSuffix); ok {
			l.indices[stem] = true
		} else if m := shardName.FindStringSubmatch(name); m != nil {
			l.shards[m[1]] = append(l.shards[m[1]], name)
		} else if stem, ok := strings.CutSuffix(name, fileSuffix); ok {
			l.whole[stem] = true
		} else if isPickle(name) && l.pickle == "" {
			l.pickle = name
		}
	}
	return l, nil
}
