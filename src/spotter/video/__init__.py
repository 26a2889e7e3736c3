"""Films of episodes: an evaluation episode is played again and every picture is encoded at once."""

from spotter.video.replay import CannotRender, Film, action_names, film
from spotter.video.shelf import Filmed, save_video

__all__ = ["CannotRender", "Film", "Filmed", "action_names", "film", "save_video"]
