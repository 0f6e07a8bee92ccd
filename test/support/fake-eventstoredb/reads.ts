import type { ServerWritableStream } from '@grpc/grpc-js'
import type { EventLog, Recorded } from './log.ts'
import { nameOf, type ReadRequest, type ReadResponse, shared, streams } from './protocol.ts'

const BACKWARDS = 1

export type ReadCall = ServerWritableStream<ReadRequest, ReadResponse>

/** Reads one stream or all, forwards or backwards, and subscribes to all with a filter of prefixes. */
export function read(log: EventLog, call: ReadCall): void {
  const options = call.request.getOptions()
  const stream = options?.getStream()
  if (options?.hasSubscription()) return void subscribe(log, call)
  if (!stream) {
    send(call, pageOf(log.all, startOfAll(log, call), call).map(asResolved))
  } else {
    const name = nameOf(stream.getStreamIdentifier())
    const events = log.of(name)
    const from = stream.hasRevision() ? Number(stream.getRevision()) : stream.hasEnd() ? events.length - 1 : 0
    if (events.length === 0) send(call, [notFound(call)])
    else send(call, pageOf(events, from, call).map(asEvent))
  }
  call.end()
}

/** Reading from a position includes it. */
function startOfAll(log: EventLog, call: ReadCall): number {
  const all = call.request.getOptions()?.getAll()
  if (all?.hasEnd()) return log.all.length - 1
  if (!all?.hasPosition()) return 0
  const position = BigInt(all.getPosition()?.getCommitPosition() ?? 0)
  const place = log.all.findIndex((event) => event.position >= position)
  return place < 0 ? log.all.length : place
}

function pageOf(events: readonly Recorded[], from: number, call: ReadCall): readonly Recorded[] {
  const options = call.request.getOptions()
  const count = Number(options?.getCount() ?? 0)
  if (options?.getReadDirection() !== BACKWARDS) return events.slice(from, from + count)
  return events.slice(Math.max(0, from + 1 - count), from + 1).reverse()
}

/** After a position (exclusive): existing events first, then new ones. */
async function subscribe(log: EventLog, call: ReadCall): Promise<void> {
  const options = call.request.getOptions()
  const prefixes = options?.getFilter()?.getStreamIdentifier()?.getPrefixList() ?? ['']
  let next = startOfAll(log, call)
  const all = options?.getAll()
  if (all?.hasPosition() && log.all[next]?.position === BigInt(all.getPosition()?.getCommitPosition() ?? 0)) next += 1
  const confirmation = new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId('subscription')
  send(call, [new streams.ReadResp().setConfirmation(confirmation)])
  let wake = () => {}
  let isLive = false
  const leave = log.onAppend(() => wake())
  call.on('cancelled', () => wake())
  while (!call.cancelled) {
    const appended = new Promise<void>((resolve) => {
      wake = resolve
    })
    const news = log.all.slice(next)
    next += news.length
    send(call, news.filter(({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix))).map(asEvent))
    const last = news.at(-1)
    if (last) send(call, [checkpoint(last)])
    if (!isLive) send(call, [new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp())])
    isLive = true
    if (next === log.all.length && !call.cancelled) await appended
  }
  leave()
}

function send(call: ReadCall, messages: readonly ReadResponse[]): void {
  for (const message of messages) if (!call.cancelled) call.write(message)
}

function asEvent({ stream, revision, position, proposed }: Recorded): ReadResponse {
  const event = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(proposed.id))
    .setStreamIdentifier(identifierOf(stream))
    .setStreamRevision(String(revision))
    .setCommitPosition(String(position))
    .setPreparePosition(String(position))
    .setCustomMetadata(proposed.metadata)
    .setData(proposed.data)
  event.getMetadataMap().set('type', proposed.type).set('content-type', proposed.contentType).set('created', '0')
  const read = new streams.ReadResp.ReadEvent().setEvent(event).setCommitPosition(String(position))
  return new streams.ReadResp().setEvent(read)
}

/** A link to a deleted event has no event: the system's own events simulate it, so that every reader meets some. */
function asResolved(recorded: Recorded): ReadResponse {
  const response = asEvent(recorded)
  if (recorded.stream.startsWith('$') && recorded.revision % 2 === 1) response.getEvent()?.clearEvent()
  return response
}

function checkpoint({ position }: Recorded): ReadResponse {
  const reached = new streams.ReadResp.Checkpoint()
    .setCommitPosition(String(position))
    .setPreparePosition(String(position))
  return new streams.ReadResp().setCheckpoint(reached)
}

function notFound(call: ReadCall): ReadResponse {
  const identifier = call.request.getOptions()?.getStream()?.getStreamIdentifier()
  return new streams.ReadResp().setStreamNotFound(new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier))
}

const identifierOf = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
