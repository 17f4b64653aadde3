//! States of a campaign and the events that change them. Free of I/O.

use domain::ports::store::{CampaignRow, CampaignStatus};

/// State of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Created, never dialed.
    Draft,
    /// Waits for its time.
    Waiting,
    /// Dialing.
    Running,
    /// Should be dialing, but cannot for the moment.
    Delayed,
    /// Places no calls.
    Paused {
        /// Whether the end of its window caused the pause. Then it starts again by itself at the next opening.
        resumes: bool,
    },
    /// Stopped by the user.
    Stopped,
    /// Every contact has its final outcome.
    Completed,
    /// Cannot continue.
    Failed,
}

/// Event of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The user wants to dial now.
    Launch,
    /// The user wants to dial at the schedule's time.
    Schedule,
    /// The user removes the schedule.
    Unschedule {
        /// Whether some contact was dialed.
        dialed: bool,
    },
    /// The user wants no new calls.
    Pause,
    /// The user wants no new calls and cancels waiting attempts.
    Stop,
    /// The contact list was replaced.
    ContactsReplaced,
    /// The time it waited for has come.
    TimeCame,
    /// The day's window is over.
    WindowClosed,
    /// The day's window begins.
    WindowOpened,
    /// There is nothing to dial now, but retries or follow-ups are due later.
    OnlyLater,
    /// Every contact has its final outcome.
    NothingLeft,
    /// There is no line, the carrier is unavailable, throttles or refuses, or every provider of a kind is down.
    Obstacle,
    /// Dialing is possible again.
    ObstacleGone,
    /// The agent is gone.
    CannotGoOn,
}

/// Effect of a change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Cancels waiting attempts in the same commit.
    CancelWaiting,
}

/// Error: an event that is not possible in the present state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("campaign is {}", .0.status().as_str())]
pub struct InvalidTransition(pub State);

impl State {
    /// Returns the state of a row.
    pub fn of(row: &CampaignRow) -> Self {
        match row.status {
            CampaignStatus::Draft => Self::Draft,
            CampaignStatus::Waiting => Self::Waiting,
            CampaignStatus::Running => Self::Running,
            CampaignStatus::Delayed => Self::Delayed,
            CampaignStatus::Paused => Self::Paused { resumes: row.active },
            CampaignStatus::Stopped => Self::Stopped,
            CampaignStatus::Completed => Self::Completed,
            CampaignStatus::Failed => Self::Failed,
        }
    }

    /// Returns the row's `status`.
    pub fn status(self) -> CampaignStatus {
        match self {
            Self::Draft => CampaignStatus::Draft,
            Self::Waiting => CampaignStatus::Waiting,
            Self::Running => CampaignStatus::Running,
            Self::Delayed => CampaignStatus::Delayed,
            Self::Paused { .. } => CampaignStatus::Paused,
            Self::Stopped => CampaignStatus::Stopped,
            Self::Completed => CampaignStatus::Completed,
            Self::Failed => CampaignStatus::Failed,
        }
    }

    /// Returns the row's `active`: whether it dials, or will by itself.
    pub fn active(self) -> bool {
        match self {
            Self::Waiting | Self::Running | Self::Delayed => true,
            Self::Paused { resumes } => resumes,
            Self::Draft | Self::Stopped | Self::Completed | Self::Failed => false,
        }
    }

    /// Returns the state after `event`, and its effects.
    pub fn apply(self, event: Event) -> Result<(Self, Vec<Effect>), InvalidTransition> {
        let next = self.next(event).ok_or(InvalidTransition(self))?;
        let mut effects = Vec::new();
        if event == Event::Stop {
            effects.push(Effect::CancelWaiting);
        }
        Ok((next, effects))
    }

    fn next(self, event: Event) -> Option<Self> {
        match self {
            Self::Draft => Self::from_draft(event),
            Self::Waiting => Self::from_waiting(event),
            Self::Running => Self::from_running(event),
            Self::Delayed => Self::from_delayed(event),
            Self::Paused { resumes } => Self::from_paused(resumes, event),
            Self::Stopped | Self::Failed => self.after_the_end(event),
            // Launching or scheduling it is refused, since there is nothing to dial.
            Self::Completed => (event == Event::ContactsReplaced).then_some(Self::Draft),
        }
    }

    fn from_draft(event: Event) -> Option<Self> {
        match event {
            Event::Launch => Some(Self::Running),
            Event::Schedule => Some(Self::Waiting),
            Event::ContactsReplaced => Some(Self::Draft),
            _ => None,
        }
    }

    fn from_waiting(event: Event) -> Option<Self> {
        match event {
            Event::Launch | Event::TimeCame => Some(Self::Running),
            Event::Schedule | Event::ContactsReplaced => Some(Self::Waiting),
            Event::Unschedule { dialed } => Some(Self::unscheduled(dialed)),
            Event::Pause => Some(Self::Paused { resumes: false }),
            Event::Stop => Some(Self::Stopped),
            _ => None,
        }
    }

    fn from_running(event: Event) -> Option<Self> {
        match event {
            Event::Pause => Some(Self::Paused { resumes: false }),
            Event::Stop => Some(Self::Stopped),
            Event::WindowClosed => Some(Self::Paused { resumes: true }),
            Event::OnlyLater => Some(Self::Waiting),
            Event::NothingLeft => Some(Self::Completed),
            Event::Obstacle => Some(Self::Delayed),
            Event::CannotGoOn => Some(Self::Failed),
            _ => None,
        }
    }

    fn from_delayed(event: Event) -> Option<Self> {
        match event {
            Event::Pause => Some(Self::Paused { resumes: false }),
            Event::Stop => Some(Self::Stopped),
            Event::WindowClosed => Some(Self::Paused { resumes: true }),
            Event::ObstacleGone => Some(Self::Running),
            Event::CannotGoOn => Some(Self::Failed),
            _ => None,
        }
    }

    fn from_paused(resumes: bool, event: Event) -> Option<Self> {
        match event {
            Event::Launch => Some(Self::Running),
            Event::Schedule => Some(Self::Waiting),
            Event::Unschedule { dialed } => Some(Self::unscheduled(dialed)),
            Event::Stop => Some(Self::Stopped),
            Event::ContactsReplaced => Some(Self::Paused { resumes }),
            Event::Pause if resumes => Some(Self::Paused { resumes: false }),
            Event::WindowOpened if resumes => Some(Self::Running),
            _ => None,
        }
    }

    fn after_the_end(self, event: Event) -> Option<Self> {
        match event {
            Event::Launch => Some(Self::Running),
            Event::Schedule => Some(Self::Waiting),
            Event::ContactsReplaced => Some(self),
            _ => None,
        }
    }

    fn unscheduled(dialed: bool) -> Self {
        if dialed { Self::Stopped } else { Self::Draft }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
