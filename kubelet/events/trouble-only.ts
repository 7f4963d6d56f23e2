import type { EventRecorder, EventType } from './event-recorder.ts'

/** Says of pods only what is out of the ordinary: their normal steps are not told. */
export function troubleOnly(recorder: EventRecorder): EventRecorder {
  return {
    event: (...words) => recorder.event(...words),
    podEvent(pod, container, type: EventType, ...words) {
      if (type !== 'Normal') recorder.podEvent(pod, container, type, ...words)
    },
    flush: () => recorder.flush(),
  }
}
