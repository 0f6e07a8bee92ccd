/** What the functions of orval call: the address of the service and the key. */
export async function fetcher<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(`${process.env.BASE}/api/v1${path}`, {
    ...init,
    headers: { ...init.headers, Authorization: `Bearer ${process.env.KEY}` },
  })
  const text = await response.text()
  return { status: response.status, data: text === '' ? undefined : JSON.parse(text), headers: response.headers } as T
}
