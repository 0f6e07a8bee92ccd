import { startCounting } from './counts.ts'

/** Loaded before the program that is measured (`--import`); answers each message with what has been counted. */
const counts = startCounting(Number(process.env.COUNTED_PORT))
process.on('message', () => process.send?.(counts()))
process.channel?.unref()
