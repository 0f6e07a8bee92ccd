import { startCounting } from './counts.ts'

/** Loaded before the measured program (`--import`); answers each message with the counters. */
const counts = startCounting(Number(process.env.COUNTED_PORT))
process.on('message', () => process.send?.(counts()))
process.channel?.unref()
