let context: AudioContext | undefined

/** A short tone: high for a product that was found, low twice for one that was not. */
export function beep(kind: 'found' | 'unknown'): void {
  try {
    context ??= new AudioContext()
    const tones =
      kind === 'found'
        ? [[1046, 0, 0.07]]
        : [
            [220, 0, 0.12],
            [180, 0.15, 0.2],
          ]
    for (const [frequency = 0, after = 0, length = 0] of tones) {
      const oscillator = context.createOscillator()
      const gain = context.createGain()
      gain.gain.value = 0.08
      oscillator.frequency.value = frequency
      oscillator.connect(gain).connect(context.destination)
      oscillator.start(context.currentTime + after)
      oscillator.stop(context.currentTime + after + length)
    }
  } catch {
    // A device without sound sells all the same.
  }
}
