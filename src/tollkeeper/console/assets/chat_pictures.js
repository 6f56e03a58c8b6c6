// Pictures that are about to be sent: read, made no larger than models look at, and shown with a button that removes them.
const LONGEST_SIDE = 1280;
const QUALITY = 0.85;

// As a data: address. A picture that the browser cannot read raises.
async function readPicture(file) {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext("2d");
  // JPEG has no transparency.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return canvas.toDataURL("image/jpeg", QUALITY);
}

function thumbnail(address, words) {
  const made = document.createElement("img");
  made.src = address;
  made.alt = words;
  return made;
}

class Pictures {
  constructor(place, words, refuse) {
    this.place = place;
    this.words = words;
    this.refuse = refuse;
    this.chosen = [];
  }

  async add(files, room) {
    for (const file of files) {
      if (this.chosen.length >= room) { this.refuse(this.words.tooMany); break; }
      try {
        this.chosen.push(await readPicture(file));
      } catch {
        this.refuse(this.words.notAPicture);
      }
    }
    this.show();
  }

  show() {
    this.place.replaceChildren(...this.chosen.map((address, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "chat-picture";
      button.setAttribute("aria-label", this.words.remove);
      button.title = this.words.remove;
      button.append(thumbnail(address, this.words.picture));
      button.addEventListener("click", () => { this.chosen.splice(at, 1); this.show(); });
      return button;
    }));
    this.place.hidden = this.chosen.length === 0;
  }

  take() {
    const taken = this.chosen;
    this.chosen = [];
    this.show();
    return taken;
  }
}
