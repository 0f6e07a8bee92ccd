import { writeFileSync } from 'node:fs'
import { type HeapProfiler, Session } from 'node:inspector'
import { ALLOCATIONS_FILE } from './areas.ts'

/** Bytes between two samples, on average; it costs a service at full load some 3 %. */
const INTERVAL_BYTES = 65_536

/**
 * Loaded before the profiled program (`--import`): samples its allocations, also of what is collected again, and writes
 * them to ALLOCATIONS_FILE when the process exits.
 */
const session = new Session()
session.connect()
session.post('HeapProfiler.startSampling', {
  samplingInterval: INTERVAL_BYTES,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
} as HeapProfiler.StartSamplingParameterType)
process.on('exit', () => {
  session.post('HeapProfiler.stopSampling', (error, { profile }) => {
    if (error) throw error
    writeFileSync(process.env[ALLOCATIONS_FILE] as string, JSON.stringify(profile))
  })
})
