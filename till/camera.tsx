import { useEffect, useRef } from 'preact/hooks'

interface Detector {
  detect(source: HTMLVideoElement): Promise<readonly { readonly rawValue: string }[]>
}

type DetectorClass = new (options: { formats: readonly string[] }) => Detector

const detectorClass = (): DetectorClass | undefined =>
  (globalThis as { BarcodeDetector?: DetectorClass }).BarcodeDetector

/** Only some browsers read codes by camera. */
export const hasCamera = (): boolean => detectorClass() !== undefined && navigator.mediaDevices !== undefined

const LOOK_MS = 150

/** Reads the first code that the camera sees. */
export function Camera({ onCode, onFail }: { onCode(code: string): void; onFail(): void }) {
  const video = useRef<HTMLVideoElement>(null)
  useEffect(() => {
    let stream: MediaStream | undefined
    let isOpen = true
    const Detecting = detectorClass()
    const look = async () => {
      if (!Detecting) return onFail()
      const detector = new Detecting({ formats: ['ean_13', 'ean_8', 'upc_a', 'code_128', 'qr_code'] })
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
      while (isOpen && video.current) {
        if (video.current.srcObject !== stream) {
          video.current.srcObject = stream
          await video.current.play()
        }
        const [found] = await detector.detect(video.current)
        if (found) return onCode(found.rawValue)
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
    }
    look().catch(onFail)
    return () => {
      isOpen = false
      for (const track of stream?.getTracks() ?? []) track.stop()
    }
  }, [])
  return (
    <video ref={video} class="camera" muted playsInline>
      <track kind="captions" />
    </video>
  )
}
