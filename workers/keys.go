package workers

import (
	"fmt"
	"strconv"
	"strings"
)

// videosPrefix begins the keys of all artifacts: videos/{job}/{attempt}/{name}. The attempt in the key is what keeps an old owner from
// touching the objects of a new one.
const videosPrefix = "videos/"

// The names of a job's objects. The manifest is written last, so where it is, the others are.
const (
	videoName       = "video.mp4"
	thumbnailName   = "thumbnail.webp"
	spritesheetName = "spritesheet.jpg"
	manifestName    = "manifest.json"
)

func objectKey(jobID string, attempt int, name string) string {
	return fmt.Sprintf("%s%s/%d/%s", videosPrefix, jobID, attempt, name)
}

// parseManifestKey reads a manifest's key; ok is false for all other keys.
func parseManifestKey(key string) (jobID string, attempt int, ok bool) {
	rest, ok := strings.CutPrefix(key, videosPrefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || parts[2] != manifestName {
		return "", 0, false
	}
	attempt, err := strconv.Atoi(parts[1])
	return parts[0], attempt, err == nil && attempt > 0 && parts[0] != ""
}
