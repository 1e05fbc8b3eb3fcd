/** `text` with each ASCII letter moved by thirteen places. */
export function rot13(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => {
    const unit = letter.charCodeAt(0);
    const base = unit < 97 ? 65 : 97;
    return String.fromCharCode(((unit - base + 13) % 26) + base);
  });
}
