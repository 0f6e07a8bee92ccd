import { pino } from 'pino'
import { type Config, readConfig, WrongSetting } from '#config/config.ts'
import { seedDemo } from '#demo/companies/demo-seed.ts'
import { lowerHeapGrowth } from '#lib/fair-sharing.ts'
import { DataDirInUse } from '#postgres/embedded.ts'
import { createService, errorRecord } from '#service/service.ts'

/** Longest that an orderly end may take: the last calls, and the last deliveries, which wait for their receivers. */
const STOP_TIMEOUT_MS = 45_000
/** Ctrl+C reaches the process from the terminal and again from npm; a later second signal ends the process at once. */
const SAME_SIGNAL_MS = 1_000

lowerHeapGrowth()

const config = settings()
const logger = pino({
  level: config.LOG_LEVEL,
  redact: ['*.password', '*.authorization', '*.key'],
  serializers: { err: errorRecord },
})
const service = createService({
  config,
  logger,
  // A database of one's own gets no more than is asked for.
  seedDemo: (core, files) =>
    seedDemo(core, { ...files, soldUntil: config.DATABASE_URL === undefined ? new Date().toISOString() : undefined }),
  onFailure: () => end(1),
})
let endingSince: number | null = null

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, insistOnEnd)
await service.start().catch((error: unknown) => {
  if (error instanceof DataDirInUse) process.stderr.write(`${error.message}\n`)
  else if (endingSince === null) logger.error({ err: error }, 'service: start failed')
  end(1)
})

/** A wrong setting is the operator's to read, not a stack trace. */
function settings(): Config {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}

function insistOnEnd(): void {
  if (endingSince !== null && performance.now() - endingSince > SAME_SIGNAL_MS) process.exit(1)
  end(0)
}

/** Stops the service once, and exits. */
function end(exitCode: number): void {
  if (endingSince !== null) return
  endingSince = performance.now()
  setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
  void service.stop().then(() => {
    logger.info('service: stopped')
    process.exit(exitCode)
  })
}
