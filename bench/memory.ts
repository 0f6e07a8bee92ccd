const SAMPLE_MS = 250
const MEBIBYTE = 1_048_576

/** Runs `work` and also returns the peak memory of a server, in MiB, as the system counts it. */
export async function watchMemory<T>(url: string, work: () => Promise<T>): Promise<{ value: T; peak_mib: number }> {
  let peak_bytes = await residentBytes(url)
  let failure: unknown
  const timer = setInterval(() => {
    residentBytes(url).then(
      (bytes) => {
        peak_bytes = Math.max(peak_bytes, bytes)
      },
      (error: unknown) => {
        failure = error
      },
    )
  }, SAMPLE_MS)
  try {
    const value = await work()
    if (failure) throw failure
    return { value, peak_mib: Math.round(peak_bytes / MEBIBYTE) }
  } finally {
    clearInterval(timer)
  }
}

async function residentBytes(url: string): Promise<number> {
  const figures = await (await fetch(`${url}/metrics`)).text()
  const bytes = /^process_resident_memory_bytes (\d+)/m.exec(figures)?.[1]
  if (bytes === undefined) throw new Error('/metrics does not tell the memory')
  return Number(bytes)
}
