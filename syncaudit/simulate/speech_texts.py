"""Sentences for `syncaudit.simulate.speech` to speak, in four languages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from syncaudit.model import Interval, Tier
from syncaudit.simulate.speech import Utterance, Voice, speak

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "en": (
        "Please put the small red cup on the left side of the table.",
        "The robot should first open the drawer and then take out the spoon.",
        "We were driving slowly because the street was covered with snow.",
        "She asked whether anybody had seen her keys this morning.",
        "Turn right at the next crossing, then stop behind the white van.",
        "Most of the shops along the river close early on Sundays.",
        "He forgot to charge the battery before he left the house.",
        "There is a strange noise whenever the front wheel touches the kerb.",
        "Pick up the blue block and place it gently beside the yellow one.",
        "My brother used to play the violin in a very large orchestra.",
        "A cold wind came down from the hills and everyone went inside.",
        "The measurement takes three seconds, so keep your hand still.",
        "Nobody knows exactly how the cat got onto the roof.",
        "Fresh bread and cheese were all we needed after the long walk.",
        "The pedestrian looked at the phone and stepped off the pavement.",
        "Just fold the towel twice and leave it on the chair.",
    ),
    "de": (
        "Bitte stelle die kleine rote Tasse auf die linke Seite des Tisches.",
        "Der Roboter soll zuerst die Schublade öffnen und dann den Löffel nehmen.",
        "Wir fuhren langsam, weil die Straße mit Schnee bedeckt war.",
        "Sie fragte, ob jemand heute Morgen ihre Schlüssel gesehen habe.",
        "An der nächsten Kreuzung rechts abbiegen und hinter dem weißen Wagen halten.",
        "Die meisten Geschäfte am Fluss schließen am Sonntag sehr früh.",
        "Er vergaß, den Akku zu laden, bevor er das Haus verließ.",
        "Ein kalter Wind kam von den Bergen, und alle gingen hinein.",
        "Niemand weiß genau, wie die Katze auf das Dach gekommen ist.",
        "Frisches Brot und Käse waren alles, was wir nach der Wanderung brauchten.",
        "Die Messung dauert drei Sekunden, also halte deine Hand ruhig.",
        "Falte das Handtuch zweimal und lege es auf den Stuhl.",
    ),
    "fr": (
        "Pose la petite tasse rouge sur le côté gauche de la table.",
        "Le robot doit d'abord ouvrir le tiroir et puis prendre la cuillère.",
        "Nous roulions lentement parce que la rue était couverte de neige.",
        "Elle a demandé si quelqu'un avait vu ses clés ce matin.",
        "Tournez à droite au prochain carrefour et arrêtez-vous derrière la voiture blanche.",
        "La plupart des magasins près du fleuve ferment tôt le dimanche.",
        "Il a oublié de charger la batterie avant de quitter la maison.",
        "Un vent froid descendait des collines et tout le monde est rentré.",
        "Personne ne sait exactement comment le chat est monté sur le toit.",
        "Du pain frais et du fromage, c'était tout ce qu'il nous fallait.",
        "La mesure dure trois secondes, alors garde la main immobile.",
        "Plie la serviette deux fois et laisse-la sur la chaise.",
    ),
    "es": (
        "Pon la pequeña taza roja en el lado izquierdo de la mesa.",
        "El robot debe abrir primero el cajón y después sacar la cuchara.",
        "Conducíamos despacio porque la calle estaba cubierta de nieve.",
        "Ella preguntó si alguien había visto sus llaves esta mañana.",
        "Gire a la derecha en el próximo cruce y pare detrás de la furgoneta blanca.",
        "La mayoría de las tiendas junto al río cierran temprano los domingos.",
        "Olvidó cargar la batería antes de salir de casa.",
        "Un viento frío bajaba de las colinas y todos entraron.",
        "Nadie sabe exactamente cómo llegó el gato hasta el tejado.",
        "Pan fresco y queso era todo lo que necesitábamos después del paseo.",
        "La medición dura tres segundos, así que mantén la mano quieta.",
        "Dobla la toalla dos veces y déjala sobre la silla.",
    ),
}


def speak_at_length(voice: Voice, *, duration_s: float, rng: np.random.Generator) -> Utterance:
    """Return sentences in random order until at least `duration_s` are filled.

    `voice`: its language is one of `SENTENCES`. `duration_s`: minimum length of the sound. `rng`:
    draws sentences and the pauses between them (0.1 to 0.7 s).
    """
    sentences = SENTENCES[voice.language.split("+")[0].split("-")[0]]
    order: list[int] = []
    parts: list[np.ndarray] = []
    phones: list[Interval] = []
    words: list[Interval] = []
    now_s, rate_hz = 0.0, 0.0
    while now_s < duration_s:
        order = order or rng.permutation(len(sentences)).tolist()
        said = speak(sentences[order.pop()], voice)
        rate_hz = said.rate_hz
        pause = np.zeros(round(float(rng.uniform(0.1, 0.7)) * rate_hz), np.float32)
        now_s += pause.size / rate_hz
        phones += _moved(said.phones, now_s)
        words += _moved(said.words, now_s)
        parts += [pause, said.samples]
        now_s += said.samples.size / rate_hz
    return Utterance(
        samples=np.concatenate(parts),
        rate_hz=rate_hz,
        phones=Tier(name="phones", intervals=tuple(phones)),
        words=Tier(name="words", intervals=tuple(words)),
    )


def _moved(tier: Tier, by_s: float) -> list[Interval]:
    return [
        Interval(start_s=i.start_s + by_s, stop_s=i.stop_s + by_s, label=i.label)
        for i in tier.intervals
    ]
