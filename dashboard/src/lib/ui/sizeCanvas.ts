/** Gives a canvas a size in px, at the resolution of the screen. Returns its pen; undefined if it has none. */
export function sizeCanvas(
  canvas: HTMLCanvasElement | undefined,
  width: number,
  height: number,
): CanvasRenderingContext2D | undefined {
  const pen = canvas?.getContext('2d')
  if (!canvas || !pen) return undefined
  const ratio = window.devicePixelRatio || 1
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h]
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  return pen
}
