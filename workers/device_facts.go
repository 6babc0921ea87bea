package workers

import (
	"telefuser/jobs"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
)

// noteDevices writes down what makes the video, whether its pictures mean nothing, and what the loading of its engine did to the devices, were it for an earlier job.
func (a *attempt) noteDevices(desc engine.Description) {
	a.facts.Device, a.facts.Weights = desc.Device, a.weights(desc)
	for _, d := range desc.Devices {
		a.facts.Devices = append(a.facts.Devices, jobs.DeviceFacts(d))
	}
	a.noteReadings(phaseLoading, desc.Loading)
}

// weights is random:SEED where the engine's weights come from a seed, or where those did that made what the video goes on from; else it is empty.
func (a *attempt) weights(desc engine.Description) string {
	if mark := desc.Contract.Weights; mark != "" {
		return mark
	}
	if a.spec.Task == contract.TaskExtend && a.spec.Source != nil {
		return a.spec.Source.Weights
	}
	return ""
}

// notePhase writes down what the closed session did to the devices. The peak of memory is the device's where an engine has one, else the
// host's.
func (a *attempt) notePhase(session *engine.Session) {
	phase := session.Phase()
	a.noteReadings(phaseGenerating, phase)
	if phase == nil || len(phase.Devices) == 0 {
		a.facts.PeakMemoryBytes = session.PeakMemoryBytes()
		return
	}
	var sum int64
	for _, d := range phase.Devices {
		bytes := d.Memory().Bytes()
		if bytes == nil {
			return
		}
		sum += *bytes
	}
	a.facts.PeakMemoryBytes = &sum
}

func (a *attempt) noteReadings(name string, phase *engine.PhaseFacts) {
	if phase == nil {
		return
	}
	if a.facts.Phases == nil {
		a.facts.Phases = map[string][]jobs.DevicePhase{}
	}
	for _, d := range phase.Devices {
		a.facts.Phases[name] = append(a.facts.Phases[name], jobs.DevicePhase(d))
	}
}
