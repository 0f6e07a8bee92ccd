import { Worker } from 'node:worker_threads'

/** Asks `/health/live` all the time, on a thread of its own: what the tests are busy with does not count. */
export interface LiveWatch {
  /** Longest answer since it was last asked, in ms, that of now included. */
  worst(): Promise<number>
  stop(): Promise<void>
}

const PAUSE_MS = 20
/** A process that does not answer for so long counts as dead. */
const SILENCE_MS = 20_000

const WATCHING = `
const { request, Agent } = require('node:http')
const { parentPort, workerData: { url, pause_ms, silence_ms } } = require('node:worker_threads')
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let worst = 0
const ask = () => new Promise((resolve) => {
  const began = performance.now()
  const end = () => {
    worst = Math.max(worst, performance.now() - began)
    resolve()
  }
  const asked = request(url + '/health/live', { agent, timeout: silence_ms }, (response) => response.resume().on('end', end).on('error', end))
  asked.on('timeout', () => asked.destroy()).on('error', () => {
    worst = silence_ms
    resolve()
  }).end()
})
let asking = ask()
const watch = () => { asking = ask().then(() => { setTimeout(watch, pause_ms) }) }
asking.then(watch)
parentPort.on('message', async () => {
  // What has stood still until now is told by the answer that is awaited.
  await asking
  parentPort.postMessage(worst)
  worst = 0
})
`

export function watchLive(url: string): LiveWatch {
  const worker = new Worker(WATCHING, {
    eval: true,
    workerData: { url, pause_ms: PAUSE_MS, silence_ms: SILENCE_MS },
    execArgv: [],
  })
  return {
    worst: () =>
      new Promise((resolve, reject) => {
        const failed = (error: Error) => reject(error)
        worker.once('error', failed)
        worker.once('message', (worst: number) => {
          worker.off('error', failed)
          resolve(worst)
        })
        worker.postMessage(null)
      }),
    async stop() {
      await worker.terminate()
    },
  }
}
